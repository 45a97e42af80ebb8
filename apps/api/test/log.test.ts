import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('is printed for people as one line each, whatever a message says', async () => {
  const script = `
    import { createLogger } from ${JSON.stringify(import.meta.resolve('../src/log.ts'))}
    const log = createLogger({ pretty: true })
    log.info({ path: 'a\\nb' }, 'first\\n[12:00:00.000] INFO: forged')
    log.child({ name: 'x\\n[12:00:00.000] INFO: forged' }).info({}, 'second')
    log.error({ err: new Error('no\\u001b[2J\\n[12:00:00.000] INFO: forged') }, 'third')
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  // What belongs to an error is indented.
  const lines = stdout.split('\n').filter((line) => /^[^ ]/.test(line))
  expect(lines).toEqual([
    expect.stringMatching(/INFO: first\\n\[12:00:00.000\] INFO: forged .*"a\\nb"/),
    expect.stringMatching(/INFO .*forged\): second/),
    expect.stringMatching(/ERROR: third/),
  ])
  expect(stdout).not.toContain('\u001b[2J')
})
