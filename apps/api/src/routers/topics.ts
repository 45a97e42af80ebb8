import * as topics from '../operations/topics.ts'
import { query, router } from '../trpc.ts'

export const topicsRouter = router({ list: query(topics.list) })
