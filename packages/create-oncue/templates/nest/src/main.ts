import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

const app = await NestFactory.create(AppModule)
app.enableShutdownHooks()
const port = Number(process.env.PORT ?? 3000)
// In development, only this machine reaches the server.
if (process.env.NODE_ENV === 'development') await app.listen(port, 'localhost')
else await app.listen(port)
console.log(
  `\n  the server    http://localhost:${port}\n  its jobs      http://localhost:${port}/admin/jobs\n`,
)
