import { Module } from '@nestjs/common'
import { AdminModule } from './oncue/admin.module.js'
import { OncueModule } from './oncue/oncue.module.js'
import { WorkerModule } from './oncue/worker.module.js'
import { UsersController } from './users/users.controller.js'

/** Server and worker in one process. Without WorkerModule, run `npm run start:worker` beside it. */
@Module({
  imports: [OncueModule, AdminModule, WorkerModule],
  controllers: [UsersController],
})
export class AppModule {}
