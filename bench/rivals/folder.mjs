// Where rivals from npm are installed: beside the builds of this repository, outside version control.
import { fileURLToPath } from 'node:url'

export const installed = fileURLToPath(new URL('../../build-bench/rivals', import.meta.url))
