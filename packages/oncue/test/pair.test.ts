import { eventually } from '@oncue/testing'
import { renderUnicodeCompact } from 'uqr'
import { expect, test } from 'vitest'
import { call, callAloud, describeBoth } from './harness.ts'

describeBoth('pair', (bench) => {
  const SERVER = ['--server', 'https://oncue.example/']
  const exchange = (code: string) =>
    bench.store.pairings.exchange({ code, name: 'my phone', hash: 'a'.repeat(64) })

  test('shows a code for a camera and for people, and says when a device has used it', async () => {
    const args = ['pair', '--role', 'viewer', ...SERVER, '--url', bench.url]
    let shown = ''
    const paired = callAloud(args, (text) => {
      shown += text
    })
    const link = await eventually(() => {
      const [found] = /https:\S+/.exec(shown) ?? []
      expect(found).toBeDefined()
      return String(found)
    })
    const code = link.replace('https://oncue.example/pair?code=', '')
    expect(shown).toContain(renderUnicodeCompact(link))
    expect(shown).toContain(`type ${code} there. The code pairs one device as a viewer and expires in 5m`)
    expect(await exchange(code)).toMatchObject({ kind: 'device', role: 'viewer' })
    expect(await paired).toMatchObject({ code: 0, stdout: 'my phone is paired\n' })
  })

  test('exits at once with --no-wait or --json', async () => {
    expect(await bench.text('pair', '--no-wait', ...SERVER)).toContain(
      'The code pairs one device as an operator',
    )
    const { code, url, role } = await bench.json(['pair', ...SERVER, '--valid', '15m'])
    expect({ url, role }).toEqual({ url: `https://oncue.example/pair?code=${code}`, role: 'operator' })
    expect(await exchange(code)).toMatchObject({ role: 'operator' })
  })

  test('gives up when the code is no longer valid', async () => {
    const outcome = await call('pair', ...SERVER, '--valid', '1ms', '--url', bench.url)
    expect(outcome).toMatchObject({ code: 1, stdout: expect.stringContaining('No device was paired') })
  })

  test('needs to know under which address the phone reaches the API', async () => {
    expect(await bench.json(['pair'], 2)).toMatchObject({
      error: { code: 'INVALID_INPUT', hint: /--server/ },
    })
    expect(await bench.json(['pair', '--server', 'oncue'], 2)).toMatchObject({
      error: { code: 'INVALID_INPUT' },
    })
  })

  test.each(['http://localhost:4400', 'http://127.0.0.1:4400', 'http://[::1]:4400', 'http://0.0.0.0'])(
    'refuses an address that no phone reaches: %s',
    async (server) => {
      const { error } = await bench.json(['pair', '--no-wait', '--server', server], 2)
      expect(error).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('would point to the phone itself'),
        hint: expect.stringContaining('--server http://192.168.1.20:4400'),
      })
    },
  )

  test.each([
    'https://good.example@evil.example',
    'https://ada:secret@oncue.example',
    'https://@oncue.example',
  ])('refuses an address that hides its real host: %s', async (server) => {
    const { error } = await bench.json(['pair', '--no-wait', '--server', server], 2)
    expect(error).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('contains a user name (…@…)'),
    })
    expect(JSON.stringify(error)).not.toContain('secret')
  })
})
