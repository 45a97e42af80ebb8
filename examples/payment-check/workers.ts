import { defineWorkers, type Workers } from 'oncue'
import { jobs } from './jobs.ts'
import type { Shop } from './shop.ts'

export function createWorkers(shop: Shop): Workers {
  return defineWorkers(jobs, {
    async check_payment({ payload }) {
      return { status: await shop.settle(payload.orderId) }
    },
  })
}
