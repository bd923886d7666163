/** What --help prints. docs/command-line.md tells the same at length. */

export const HELP = `exactspawn: a child process born exactly as declared, bounded and accounted for

usage:
  exactspawn run [options] -- program args...   run a program exactly as declared
  exactspawn doctor [--json]                    what this machine offers, and what degrades
  exactspawn audit [--json]                     the same child by node:child_process and by exactspawn
  exactspawn worker check RECORD.json [options] whether a worker keeps wire protocol v1
  exactspawn lanes PLAN.json [options]          slots on workers that are used again, a line a lane

  exactspawn run --help, worker --help, lanes --help  the options
  exactspawn --version
`

export const RUN_HELP = `usage: exactspawn run [options] -- program args...

environment (one of these is required; nothing is inherited by itself)
  --env NAME=VALUE        a variable; any number of times
  --env-inherit           all of this process's, below those given by --env
  --env-empty             none but those given by --env

what the program is born with
  --cwd PATH              working directory
  --umask MASK            octal, or inherit (the default)
  --fd N=SOURCE           null | closed | file:PATH:read|write|append | inherit:M | same:M
                          0, 1 and 2 are this process's own unless named; any other number is closed
  --group HOW             new (the default) | session | inherit (the default when a terminal is typed into)
  --limit NAME=VALUE      or SOFT:HARD, by the names of setrlimit: nofile, core, as, cpu, ...; infinity
  --uid N --gid N         user and group, as numbers
  --groups N,N            supplementary groups, or none
  --no-new-privs          no program below it gains privileges

how it ends
  --timeout TIME          500ms, 2s, 5m, 1h: then the signal, the grace, and SIGKILL to the whole group
  --grace TIME            between the signal and SIGKILL (2s)
  --signal NAME           the first signal (TERM)
  --leftovers FATE        kill (the default) | keep what is left of its group
  --guard                 the group ends with this process, even when that is killed

what is told
  --receipt               what it was born with, then how it ended: two lines of JSON on standard error
  --json                  one document on standard output at the end: receipt, exit, outputs
  --head-bytes N          with --json: how much of the beginning of each output is kept (65536)
  --tail-bytes N          with --json: how much of its end (65536)

exit code: the program's; 128 + n for signal n; 124 timeout; 125 exactspawn failed;
           126 found but not executable; 127 not found
`

export const WORKER_HELP = `usage: exactspawn worker check RECORD.json [options]

Launches the worker of a record and takes it from hello to shutdown: docs/protocol.md.

  --role ROLE             implementation (the default) | dataset_materializer | problem_evaluator
  --timeout TIME          500ms, 2s, 5m, for every phase (10s)
  --timeouts FILE         JSON, with the milliseconds of every phase
  --requests FILE         JSON, with fields of requests by method, over the smallest ones
  --secret NAME=@FILE     the value for a channel of the record, or NAME=fd:N; any number of times
  --worker-id ID          the identity; made of the record's unless given
  --private-root DIR      where its directory is made (the system's temporary one)
  --json                  one document

exit code: 0 the protocol was kept, 1 a rule was broken, 125 the worker could not be started, 128 + n after a signal
`

export const LANES_HELP = `usage: exactspawn lanes PLAN.json [options]

Runs the slots of a plan on lanes of workers that are used again: docs/reuse.md. On a terminal there is a line for each
lane: attempt, phase, time in it, measured or warm-up, and what was replaced. Into a pipe goes a line for each event.

  --journal FILE          appends the evidence of each attempt, on the disk before its end is told
  --private-root DIR      where workers' directories are made (the system's temporary one)
  --json                  one document: the evidence of all attempts

exit code: 0 every attempt was completed, 1 one was not, 125 the plan cannot be meant, 128 + n after a signal
`
