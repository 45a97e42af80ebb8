import { defineJobs, defineWorkers, job } from '@oncue/core'
import { toRegistry } from '@oncue/core/internal'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { assertMemoryLimits } from './options.ts'

function registryWith(isolate: true | { memoryMb: number }) {
  const jobs = defineJobs({ resize: job({ input: z.object({}), isolate }) })
  return toRegistry(defineWorkers(jobs, { async resize() {} }))
}

test('a memory limit is refused on Bun, which would not keep it', () => {
  const limited = registryWith({ memoryMb: 64 })
  expect(() => assertMemoryLimits(limited, '1.4.4')).toThrow(
    expect.objectContaining({
      code: 'UNSUPPORTED_RUNTIME',
      message: 'resize is defined with isolate.memoryMb, a limit that Bun 1.4.4 does not keep',
    }),
  )
  assertMemoryLimits(limited)
  assertMemoryLimits(registryWith(true), '1.4.4')
})
