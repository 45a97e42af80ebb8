import { OncueError } from '@oncue/core'
import { type Role, roleSchema } from '@oncue/core/wire'
import { openStore, type Store } from '@oncue/db'
import { EXIT, type Output, plain, toDurationUpTo } from '@oncue/db/cli'
import { formatDuration, systemRuntime } from '@oncue/runtime'
import { type Command, Option } from 'commander'
import { renderUnicodeCompact } from 'uqr'
import { implement, whoami } from './command.ts'

const deviceRoleSchema = roleSchema.exclude(['producer'])

/** As the store limits it. */
const MAX_VALID_MS = 86_400_000

/** How often to check whether a device has used the code. */
const LOOK_MS = 500

interface PairOptions {
  readonly server?: string
  readonly role: Exclude<Role, 'producer'>
  readonly valid: number
  readonly wait: boolean
}

export function addPair(program: Command): void {
  implement<PairOptions>(
    program
      .command('pair')
      .description('show a one-time code that pairs a phone with this server')
      .option('--server <url>', 'where the phone reaches the API  (default: ONCUE_URL)')
      .addOption(
        new Option('--role <role>', 'what the device may do')
          .choices(deviceRoleSchema.options)
          .default('operator'),
      )
      .addOption(
        new Option('--valid <time>', 'how long the code is valid, at most a day: 15m, 2h')
          .argParser(toDurationUpTo(MAX_VALID_MS))
          .default(300_000, '5m'),
      )
      .option('--no-wait', 'exit at once, without waiting for a device'),
    ['--server https://oncue.example.com', '--role viewer --valid 15m', '--no-wait --json'],
    async ({ url, schema, config, options, note }) => {
      const server = readServer(options.server ?? config.serverUrl)
      const store = await openStore(url, { schema, poolSize: 2 })
      try {
        return await pair(store, server, options, note)
      } finally {
        await store.close()
      }
    },
  )
}

async function pair(
  store: Store,
  server: string,
  { role, valid, wait, json }: PairOptions & { readonly json?: true },
  note: (text: string) => void,
): Promise<Output> {
  const { id, code, expiresAt } = await store.pairings.create({ role, createdBy: whoami(), validMs: valid })
  const link = `${server}/pair?code=${code}`
  const shown = [
    renderUnicodeCompact(link),
    '',
    `Scan it with the Oncue app, open ${link}`,
    `or type ${code} there. The code pairs one device as ${article(role)} and expires in ${formatDuration(valid)}.`,
  ].join('\n')
  const made = { code, url: link, role, expiresAt }
  if (!wait || json) return { text: shown, json: made }
  note(`${shown}\n`)
  for (;;) {
    const device = await store.pairings.deviceOf(id)
    if (device) return { text: `${plain(device.name)} is paired`, json: made }
    if ((await store.now()) >= expiresAt)
      return { text: 'No device was paired; the code has expired.', json: made, exit: EXIT.failed }
    await systemRuntime.sleep(LOOK_MS)
  }
}

const article = (role: string) => (/^[aeiou]/.test(role) ? `an ${role}` : `a ${role}`)

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/i

function readServer(url: string | undefined): string {
  // In https://good.example@evil.example people read the first host, but a phone connects to the second.
  if (url !== undefined && /^https?:[\\/]*[^\\/?#]*@/i.test(url))
    throw new OncueError(
      'INVALID_INPUT',
      'The API address contains a user name (…@…), which hides the real host',
      {
        hint: 'Give it without user and password: https://oncue.example.com.',
      },
    )
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) {
    const { hostname } = new URL(url)
    if (LOOPBACK.test(hostname))
      throw new OncueError('INVALID_INPUT', `${hostname} would point to the phone itself`, {
        hint: "Give this machine's address in your network: --server http://192.168.1.20:4400.",
      })
    return url.replace(/\/+$/, '')
  }
  throw new OncueError(
    'INVALID_INPUT',
    url === undefined ? 'The address of the API is missing' : `${url} is not an address of an API`,
    { hint: 'Give it with --server https://oncue.example.com, or in ONCUE_URL.' },
  )
}
