import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Worker = Outputs['workers']['list'][number]

export const workerList: Read<Worker[]> = {
  key: ['workers.list'],
  call: (client, options) => client.workers.list(undefined, options),
  everyMs: 5_000,
}
