import * as devices from '../operations/devices.ts'
import { registerPush, testPush } from '../operations/push.ts'
import { mutation, query, router } from '../trpc.ts'

export const devicesRouter = router({
  list: query(devices.list),
  rename: mutation(devices.rename),
  revoke: mutation(devices.revoke),
  registerPush: mutation(registerPush),
  testPush: mutation(testPush),
})
