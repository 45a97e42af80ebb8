import { systemRuntime } from '@oncue/runtime'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ANONYMOUS } from '../auth/principal.ts'
import type { ApiContext } from '../context.ts'
import { stream, subscription } from './procedure.ts'

describe('a stream', () => {
  it('with endless messages does not starve other work', async () => {
    const declared = subscription({
      access: 'anyone',
      input: z.undefined(),
      output: z.number(),
      async *watch() {
        for (let n = 0; ; n++) yield { id: String(n), message: n }
      },
    })
    const flood = { ...declared, path: 'flood' }
    const never = new AbortController().signal
    const ctx = {
      principal: ANONYMOUS,
      auth: { whileValid: () => ({ signal: never, release() {} }) },
      live: { closing: never, enter: () => () => {} },
      request: { ip: '127.0.0.1' },
      runtime: systemRuntime,
    } as unknown as ApiContext
    let hadTurn = false
    setImmediate(() => {
      hadTurn = true
    })
    let told = 0
    for await (const _ of stream(ctx, flood, undefined, never)) {
      told += 1
      if (hadTurn || told === 1_000) break
    }
    expect(told).toBeLessThan(10)
  })
})
