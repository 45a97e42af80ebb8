import {
  type BeforeApplicationShutdown,
  Inject,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  type OnApplicationBootstrap,
} from '@nestjs/common'
import type { Request, Response } from 'express'
import { type OncueApp, oncueApp } from 'oncue/app'
import { DATABASE_URL, OncueModule } from './oncue.module.js'
import { personOf } from './person.js'

/** Oncue's app and API, below /admin/jobs. */
@Module({ imports: [OncueModule] })
export class AdminModule implements NestModule, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly admin: OncueApp

  constructor(@Inject(DATABASE_URL) url: string) {
    this.admin = oncueApp({ basePath: '/admin/jobs', url, authenticate: personOf })
  }

  configure(consumer: MiddlewareConsumer): void {
    const serve = (request: Request, response: Response) => {
      if (!request.headers.authorization) response.setHeader('www-authenticate', 'Basic realm="Jobs"')
      void this.admin.node(request, response)
    }
    consumer.apply(serve).forRoutes('admin/jobs', 'admin/jobs/*path')
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.admin.start()
  }

  /** Before the server waits for its connections: this ends the streams. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.admin.close()
  }
}
