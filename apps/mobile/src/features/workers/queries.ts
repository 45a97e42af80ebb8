import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Worker = Outputs['workers']['list'][number]

export const workerList: Read<Worker[]> = {
  key: ['workers.list'],
  call: (client, options) => client.workers.list(undefined, options),
  everyMs: 5_000,
}

/** With those that stopped or were lost. */
export const everyWorker: Read<Worker[]> = {
  key: ['workers.list', 'ended'],
  call: (client, options) => client.workers.list({ ended: true }, options),
  everyMs: 5_000,
}

export type WorkerDetails = Outputs['workers']['get']

export const oneWorker = (id: string): Read<WorkerDetails> => ({
  key: ['workers.get', id],
  call: (client, options) => client.workers.get({ id }, options),
  everyMs: 5_000,
})
