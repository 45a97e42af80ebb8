interface Failure {
  readonly class: string
  readonly message: string
  readonly code?: string | undefined
  /** The lines of its stack. */
  readonly frames: string
}

interface Frame {
  readonly function: string
  readonly file: string
}

/**
 * Sixteen hexadecimal digits that are the same for the same fault: class, code, topic, and the innermost
 * function of the user's own code with its file. Lines and columns are left out, so that a release that
 * only moves code keeps the groups; so is the message, which often holds an id. Without a frame of the
 * user's own there is only the message, with its digits replaced.
 */
export function fingerprint(failure: Failure, topic: string): string {
  const frame = topOwnFrame(failure.frames)
  const place = frame
    ? [frame.function, relativeFile(frame.file)]
    : [failure.message.replace(/[0-9a-f]*\d[0-9a-f-]*/gi, '#')]
  return fnv1a64([failure.class, failure.code ?? '', topic, ...place].join('\n'))
}

function topOwnFrame(frames: string): Frame | undefined {
  for (const line of frames.split('\n')) {
    const frame = line.length <= MAX_LINE ? parseFrame(line.trim()) : undefined
    if (frame && !FOREIGN.test(frame.file)) return frame
  }
  return undefined
}

/** Longer lines are data, and would keep a backtracking pattern busy. */
const MAX_LINE = 1_000

/** Libraries (Oncue among them), Node itself, and frames without a file. */
const FOREIGN =
  /[\\/]node_modules[\\/]|[\\/]@oncue[\\/]|^node:|^eval at |^internal[\\/]|^native$|^\[native code\]$|^<anonymous>$/

// V8 and Hermes: `at async Mailer.send [as run] (file:///app/src/mail.ts:3:9)`, `at /app/src/mail.ts:3:9`
const V8_FRAME =
  /^at (?:(?:async )?(?:new )?(.*?)(?: \[as [^\]]+\])? \()?(?:async )?(?:address at )?(.+?):\d+(?::\d+)?\)?$/
// JavaScriptCore and older Hermes: `send@/app/src/mail.ts:3:9`
const JSC_FRAME = /^(?:async\*)?([^@\s]*)@(.+?):\d+(?::\d+)?$/

function parseFrame(line: string): Frame | undefined {
  const match = V8_FRAME.exec(line) ?? JSC_FRAME.exec(line)
  if (!match?.[2]) return undefined
  // Whether a method is shown with its object depends on the call and on the engine.
  const name = (match[1] ?? '').replace(/^(?:Object|Module|Function|global|process|<anonymous>)\./, '')
  return { function: name || '<anonymous>', file: match[2] }
}

/** The path within the project: machines, users and releases keep it in different places. */
function relativeFile(file: string): string {
  const path = file.replaceAll('\\', '/').replace(/[?#].*$/, '')
  const inProject = /^(?:.*\/)?((?:src|dist|build|out|lib)\/.+)$/.exec(path)
  return inProject?.[1] ?? path.slice(path.lastIndexOf('/') + 1)
}

/** FNV-1a: short, and the same in every engine and release. Used to group failures, not for security. */
function fnv1a64(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, '0')
}
