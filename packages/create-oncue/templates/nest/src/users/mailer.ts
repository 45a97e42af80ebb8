import { Injectable, Logger } from '@nestjs/common'

@Injectable()
export class Mailer {
  private readonly log = new Logger(Mailer.name)

  async sendWelcome(email: string): Promise<void> {
    // Call your mail service here.
    this.log.log(`sending a welcome to ${email}`)
  }
}
