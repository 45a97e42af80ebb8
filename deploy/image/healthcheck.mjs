// Whether the container is well. The image runs several commands, and only the API has an address to ask: a worker
// ends itself when it hangs, and a migration ends anyway.
import { readFileSync } from 'node:fs'

const [, , path = '/proc/1/cmdline'] = process.argv
const words = readFileSync(path, 'utf8').split('\0')
// Behind an init (`docker run --init`) the first process still has the arguments of the entry point.
const entry = words.indexOf('exec "oncue-$0" "$@"')
const isApi = entry >= 0 ? words[entry + 1] === 'api' : /oncue[/-]api/.test(words.slice(0, 2).join(' '))

if (!isApi) process.exit(0)
// biome-ignore lint/style/noProcessEnv: it stands alone in the image, beside the packages
const { ONCUE_PORT = 4400 } = process.env
fetch(`http://127.0.0.1:${ONCUE_PORT}/readyz`).then(
  ({ ok }) => process.exit(ok ? 0 : 1),
  () => process.exit(1),
)
