import * as bulk from '../operations/bulk.ts'
import { mutation, query, router, subscription } from '../trpc.ts'

export const operationsRouter = router({
  preview: query(bulk.preview),
  run: mutation(bulk.run),
  get: query(bulk.get),
  list: query(bulk.list),
  stop: mutation(bulk.stop),
  watch: subscription(bulk.watch),
})
