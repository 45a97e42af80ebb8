import { Body, Controller, HttpCode, Inject, Post, StandardSchemaValidationPipe } from '@nestjs/common'
import { z } from 'zod'
import { type JobQueue, QUEUE } from '../oncue/oncue.module.js'

const newUserSchema = z.object({ email: z.email() })

@Controller('users')
export class UsersController {
  constructor(@Inject(QUEUE) private readonly queue: JobQueue) {}

  @Post()
  @HttpCode(202)
  async signUp(
    @Body({ schema: newUserSchema, pipes: [StandardSchemaValidationPipe] }) user: z.output<
      typeof newUserSchema
    >,
  ) {
    return { jobId: await this.queue.enqueue('send_welcome', user) }
  }
}
