// Whether the container is well. The image runs several commands, and only the API has an address to ask: a worker
// ends itself when it hangs, and a migration ends anyway.
import { readFileSync } from 'node:fs'

const [, , path = '/proc/1/cmdline'] = process.argv
const words = readFileSync(path, 'utf8').split('\0')
// `node …/oncue/dist/main.js api`, or behind an init (`docker run --init`) `docker-init -- oncue api`.
const program = words.findIndex((word) => /(^|\/)oncue(\/dist\/main\.js|-api)?$/.test(word))
const isApi = words[program]?.endsWith('-api') || words[program + 1] === 'api'

if (!isApi) process.exit(0)
// biome-ignore lint/style/noProcessEnv: it stands alone in the image, beside the packages
const { ONCUE_PORT = 4400 } = process.env
fetch(`http://127.0.0.1:${ONCUE_PORT}/readyz`).then(
  ({ ok }) => process.exit(ok ? 0 : 1),
  () => process.exit(1),
)
