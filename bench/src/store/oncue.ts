import { openStore, type Settlement } from '@oncue/db'
import { type Contender, LEASE_MS, QUEUE, type Run, WORKER } from './contender.ts'

/** Oncue's store, on either database, as a worker would call it. */
export async function openOncue(url: string): Promise<Contender> {
  const store = await openStore(url)
  const request = (limit: number) => ({ queues: [QUEUE], limit, worker: WORKER, leaseMs: LEASE_MS })
  return {
    name: 'oncue',
    enqueue: (jobs) => store.enqueue(jobs),
    claim: async (limit) => (await store.claim(request(limit))).jobs,
    settle: (runs) => store.settle(runs.map(complete)),
    settleAndClaim: async (runs, limit) =>
      (await store.settleAndClaim(runs.map(complete), request(limit))).jobs,
    close: () => store.close(),
  }
}

function complete({ id, run }: Run): Settlement {
  return { id, run, kind: 'complete' }
}
