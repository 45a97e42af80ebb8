import { readConfig, silentLogger, startApi } from '@oncue/api'
import { reportCpu } from './cpu.ts'

const [, , databaseUrl, adminToken] = process.argv

const config = readConfig({
  DATABASE_URL: databaseUrl,
  ONCUE_ADMIN_TOKEN: adminToken,
  ONCUE_PORT: '0',
  // The limits are counted all the same.
  ONCUE_RATE_LIMIT: '1000000000',
})
const { url } = await startApi(config, silentLogger)
reportCpu()
process.on('disconnect', () => process.exit())
process.send?.({ url })
