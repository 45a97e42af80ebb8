import { mutation, query, router } from '../http/trpc.ts'
import * as devices from '../procedures/devices.ts'
import { registerPush, testPush } from '../procedures/push.ts'

export const devicesRouter = router({
  list: query(devices.list),
  rename: mutation(devices.rename),
  revoke: mutation(devices.revoke),
  registerPush: mutation(registerPush),
  testPush: mutation(testPush),
})
