import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { APP } from './config.ts'
import { openWorld } from './harness.ts'

it('the licences of all bundled packages are served with the app', async () => {
  const world = await openWorld()
  const answer = await fetch(`${world.url}/THIRD-PARTY-NOTICES.txt`)
  expect(answer.headers.get('content-type')).toContain('text/plain')
  const text = await answer.text()
  // Dependencies of the app, of those dependencies, and of the SDK, which is bundled separately.
  for (const name of ['react-dom', 'react-native-web', 'scheduler', '@trpc/client', 'lucide-react-native'])
    expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\S*, (MIT|ISC)\n\n.*licen[cs]e`, 'im'))
  expect(text).not.toContain('@oncue/')
})

it('source maps are not served', async () => {
  const files = await readdir(APP, { recursive: true })
  expect(files.filter((name) => name.endsWith('.map'))).toEqual([])
  for (const script of files.filter((name) => name.endsWith('.js')))
    expect(await readFile(join(APP, script), 'utf8')).not.toContain('//# sourceMappingURL')
})
