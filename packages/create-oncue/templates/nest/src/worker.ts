// The worker as a process of its own: any number of them, on any machine.
import { NestFactory } from '@nestjs/core'
import { WorkerModule } from './oncue/worker.module.js'

const app = await NestFactory.createApplicationContext(WorkerModule)
app.enableShutdownHooks()
