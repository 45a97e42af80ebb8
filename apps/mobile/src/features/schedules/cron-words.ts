const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/**
 * Common patterns in words: "every 5 minutes", "on weekdays at 09:00". Null for all others, which are clearer as
 * patterns than as sentences.
 */
export function cronInWords(cron: string): string | null {
  const fields = cron.trim().toLowerCase().split(/\s+/)
  const [second, minute, hour, day, month, weekday] = fields.length === 5 ? ['0', ...fields] : fields
  if (fields.length < 5 || fields.length > 6 || month !== '*') return null
  if (second === undefined || minute === undefined || hour === undefined) return null
  const isEveryDay = day === '*' && weekday === '*'
  if (second !== '0') return isEveryDay && minute === '*' && hour === '*' ? every(second, 'second') : null
  if (hour === '*') return isEveryDay ? withinHour(minute) : null
  const steps = /^\*\/\d+$/.test(hour) && minute === '0' && isEveryDay ? every(hour, 'hour') : null
  if (steps !== null) return steps
  const time = timesOf(hour, minute)
  const days = daysOf(day ?? '', weekday ?? '')
  return time === null || days === null ? null : `${days} at ${time}`
}

function every(field: string, unit: string): string | null {
  if (field === '*') return `every ${unit}`
  const [, step] = /^(?:\*|0)\/(\d+)$/.exec(field) ?? []
  if (step === undefined) return null
  return step === '1' ? `every ${unit}` : `every ${Number(step)} ${unit}s`
}

function withinHour(minute: string): string | null {
  if (minute === '0') return 'every hour'
  return /^\d+$/.test(minute) ? `every hour, ${Number(minute)} min past` : every(minute, 'minute')
}

function timesOf(hour: string, minute: string): string | null {
  if (!/^\d+$/.test(minute) || !/^\d+(,\d+)*$/.test(hour)) return null
  return list(hour.split(',').map((each) => `${each.padStart(2, '0')}:${minute.padStart(2, '0')}`))
}

function daysOf(day: string, weekday: string): string | null {
  if (day === '*' && weekday === '*') return 'every day'
  if (weekday === '*') return /^\d+$/.test(day) ? `on day ${Number(day)} of the month` : null
  if (day !== '*') return null
  const numbers = weekday.replace(/[a-z]{3}/g, toNumber)
  if (numbers === '1-5') return 'on weekdays'
  if (numbers === '0,6' || numbers === '6,0' || numbers === '6,7') return 'on weekends'
  if (!/^[0-7](,[0-7])*$/.test(numbers)) return null
  return `on ${list(numbers.split(',').map((each) => DAYS[Number(each) % 7] ?? each))}`
}

const toNumber = (name: string) => {
  const at = DAY_NAMES.indexOf(name)
  return at === -1 ? name : String(at)
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
