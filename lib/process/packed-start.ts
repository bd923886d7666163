/** A checked spec as one native call takes it: in the order in which native/binding/child_binding.cpp reads it back. */
import { GROUP } from '../addon/addon-types.js'
import { Packer } from '../addon/packer.js'
import { KILL_DEADLINE_MS } from '../base/limits.js'
import { secretForms } from '../io/redactor.js'
import type { HeldMap } from './packed-map.js'
import type { CheckedSpec } from './spawn-spec.js'

/** What a start has found out or made since its spec was checked. */
export interface StartParts {
  readonly held: HeldMap
  readonly files: ReadonlyMap<number, number>
  /** The native number of the child to join. */
  readonly join: number | null
  readonly cgroupLeaf: string | null
}

// One for all starts: each is packed and read within one call.
const packer = new Packer()

/** Packs a start for `call`, which must have read it when it returns. */
export function withPackedStart<T>(
  spec: CheckedSpec,
  { held, files, join, cgroupLeaf }: StartParts,
  call: (numbers: Float64Array, bytes: Uint8Array) => T,
): T {
  try {
    held.pack(packer, files)
    packProgram(spec)
    packControls(spec)
    packer.bytes(cgroupLeaf === null ? null : Buffer.from(cgroupLeaf))
    packLifecycle(spec)
    packer.byteList(secretForms(spec.secrets))
    packer.number(join)
    return packer.lend(call)
  } finally {
    packer.clear()
  }
}

function packProgram({ candidates, argv, env, cwd }: CheckedSpec): void {
  packer.strings(candidates)
  packer.strings(argv)
  packer.block(env.block, env.names.length)
  packer.bytes(cwd)
}

function packControls(spec: CheckedSpec): void {
  packer.number(spec.umask ?? -1)
  packer.number(typeof spec.group === 'string' ? GROUP[spec.group] : GROUP.join)
  packer.number(spec.limits.list.length)
  for (const { resource, soft, hard } of spec.limits.list) {
    packer.number(resource)
    packer.number(soft)
    packer.number(hard)
  }
  packer.flag(spec.limits.inheritNofile)
  packer.number(spec.nice)
  packer.numbers(spec.affinity)
  packer.number(spec.uid)
  packer.number(spec.gid)
  packer.numbers(spec.groups)
  packer.flag(spec.noNewPrivs)
  packer.flag(spec.guard)
}

function packLifecycle({ owner, leftovers, drainMs, lifetime }: CheckedSpec): void {
  packer.flag(owner === 'handle')
  packer.flag(leftovers === 'keep')
  packer.number(drainMs)
  packer.number(lifetime.timeoutMs)
  packer.number(lifetime.firstSignal)
  packer.number(lifetime.graceMs)
  packer.number(KILL_DEADLINE_MS)
}
