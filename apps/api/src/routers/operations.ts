import { mutation, query, router, subscription } from '../http/trpc.ts'
import * as bulk from '../procedures/bulk-operations.ts'

export const operationsRouter = router({
  preview: query(bulk.preview),
  run: mutation(bulk.run),
  get: query(bulk.get),
  list: query(bulk.list),
  stop: mutation(bulk.stop),
  watch: subscription(bulk.watch),
})
