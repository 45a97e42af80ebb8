import { createServer, type Socket } from 'node:net'
import { systemRuntime, type Timer } from '@oncue/runtime'
import { onTestFinished } from 'vitest'

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

/** A mail server that speaks as much SMTP (RFC 5321, AUTH PLAIN) as a client needs. */
export class MailServer {
  readonly mails: Mail[] = []
  /** Responses that differ from the usual one, by command. */
  readonly answers = new Map<string, string>()
  /** Answers a greeting with lines that say that more follow, without end. */
  keepsTalking = false
  /** How many clients have said who they are. */
  greeted = 0
  /** How many of them are connected. */
  connections = 0
  readonly #user: string
  readonly #server = createServer((socket) => this.#serve(socket))

  private constructor(user: string) {
    this.#user = user
  }

  /** `user` as `name:password`. */
  static async listen(user: string): Promise<MailServer> {
    const server = new MailServer(user)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.#server.close())
    return server
  }

  get host(): string {
    const address = this.#server.address()
    return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  }

  #serve(socket: Socket): void {
    let [buffer, from, data] = ['', '', null as string[] | null]
    let to: string[] = []
    const say = (line: string) => void socket.write(`${line}\r\n`)
    /** The response to a line. Null: none yet. */
    const answerTo = (line: string): string | null => {
      if (data !== null) {
        if (line !== '.') {
          data.push(line)
          return null
        }
        this.mails.push({ from, to, text: data.join('\n') })
        data = null
        return '250 queued'
      }
      const [command = ''] = line.toUpperCase().split(' ')
      if (command === 'EHLO') this.greeted += 1
      if (command === 'EHLO' && this.keepsTalking) {
        talk = systemRuntime.every(100, () => say('250-here'))
        return null
      }
      const given = this.answers.get(command)
      if (given !== undefined) return given
      if (command === 'AUTH')
        return this.#isUser(line.split(' ')[2] ?? '') ? '235 welcome' : '535 wrong password'
      if (command === 'MAIL') [from, to] = [line, []]
      if (command === 'RCPT') to.push(line)
      if (command === 'DATA') data = []
      return ANSWERS[command] ?? '250 ok'
    }
    let talk: Timer | undefined
    this.connections += 1
    socket.on('error', () => {})
    socket.on('close', () => {
      systemRuntime.cancel(talk)
      this.connections -= 1
    })
    socket.on('data', (chunk) => {
      const lines = (buffer + chunk.toString()).split('\r\n')
      buffer = lines.pop() ?? ''
      for (const line of lines) {
        const answer = answerTo(line)
        if (answer !== null) say(answer)
        if (answer === ANSWERS.QUIT) socket.end()
      }
    })
    say('220 here')
  }

  #isUser(credentials: string): boolean {
    const [, name, password] = Buffer.from(credentials, 'base64').toString().split('\0')
    return `${name}:${password}` === this.#user
  }
}

const ANSWERS: Readonly<Record<string, string>> = {
  EHLO: '250-here\r\n250 AUTH PLAIN',
  DATA: '354 go on',
  QUIT: '221 bye',
}
