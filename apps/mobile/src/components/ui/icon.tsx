import Activity from 'lucide-react-native/icons/activity'
import AlarmClock from 'lucide-react-native/icons/alarm-clock'
import ArrowDownUp from 'lucide-react-native/icons/arrow-down-up'
import ArrowLeft from 'lucide-react-native/icons/arrow-left'
import Ban from 'lucide-react-native/icons/ban'
import Bell from 'lucide-react-native/icons/bell'
import BellOff from 'lucide-react-native/icons/bell-off'
import CalendarClock from 'lucide-react-native/icons/calendar-clock'
import Check from 'lucide-react-native/icons/check'
import ChevronDown from 'lucide-react-native/icons/chevron-down'
import ChevronRight from 'lucide-react-native/icons/chevron-right'
import CircleAlert from 'lucide-react-native/icons/circle-alert'
import CircleCheck from 'lucide-react-native/icons/circle-check'
import CircleDashed from 'lucide-react-native/icons/circle-dashed'
import CircleDot from 'lucide-react-native/icons/circle-dot'
import CircleX from 'lucide-react-native/icons/circle-x'
import Clock from 'lucide-react-native/icons/clock'
import Columns from 'lucide-react-native/icons/columns-3'
import Copy from 'lucide-react-native/icons/copy'
import Database from 'lucide-react-native/icons/database'
import Ellipsis from 'lucide-react-native/icons/ellipsis'
import Eye from 'lucide-react-native/icons/eye'
import Gauge from 'lucide-react-native/icons/gauge'
import Hourglass from 'lucide-react-native/icons/hourglass'
import Key from 'lucide-react-native/icons/key-round'
import Layers from 'lucide-react-native/icons/layers'
import Link from 'lucide-react-native/icons/link'
import ListFilter from 'lucide-react-native/icons/list-filter'
import Lock from 'lucide-react-native/icons/lock'
import MessageCircle from 'lucide-react-native/icons/message-circle-question-mark'
import Moon from 'lucide-react-native/icons/moon'
import Pause from 'lucide-react-native/icons/pause'
import Play from 'lucide-react-native/icons/play'
import Plus from 'lucide-react-native/icons/plus'
import QrCode from 'lucide-react-native/icons/qr-code'
import Radio from 'lucide-react-native/icons/radio'
import RefreshCw from 'lucide-react-native/icons/refresh-cw'
import RotateCcw from 'lucide-react-native/icons/rotate-ccw'
import Rows from 'lucide-react-native/icons/rows-3'
import Search from 'lucide-react-native/icons/search'
import Server from 'lucide-react-native/icons/server'
import Settings from 'lucide-react-native/icons/settings-2'
import Smartphone from 'lucide-react-native/icons/smartphone'
import Square from 'lucide-react-native/icons/square'
import Tag from 'lucide-react-native/icons/tag'
import Trash from 'lucide-react-native/icons/trash'
import TriangleAlert from 'lucide-react-native/icons/triangle-alert'
import WifiOff from 'lucide-react-native/icons/wifi-off'
import X from 'lucide-react-native/icons/x'
import type { ComponentType } from 'react'
import { View } from 'react-native'
import type { Palette } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'

/** Icons by their meaning in this app. */
const ICONS = {
  acked: Check,
  activity: Activity,
  alerts: Bell,
  back: ArrowLeft,
  bad: CircleX,
  blocked: Link,
  cancel: Ban,
  check: Check,
  close: X,
  columns: Columns,
  copy: Copy,
  database: Database,
  device: Smartphone,
  down: ChevronDown,
  failures: TriangleAlert,
  filter: ListFilter,
  good: CircleCheck,
  idle: CircleDashed,
  jobs: Rows,
  late: AlarmClock,
  lock: Lock,
  more: Ellipsis,
  now: Gauge,
  offline: WifiOff,
  open: ChevronRight,
  order: ArrowDownUp,
  pause: Pause,
  plus: Plus,
  preview: Eye,
  qr: QrCode,
  questions: MessageCircle,
  queues: Layers,
  refresh: RefreshCw,
  remove: Trash,
  requeue: RotateCcw,
  resume: Play,
  runNow: Play,
  running: CircleDot,
  schedules: CalendarClock,
  search: Search,
  server: Server,
  settings: Settings,
  signal: Radio,
  snooze: BellOff,
  stalled: Hourglass,
  stop: Square,
  suspended: Moon,
  token: Key,
  topics: Tag,
  waiting: Clock,
  warn: CircleAlert,
  workers: Server,
} as const

export type IconName = keyof typeof ICONS

type Drawing = ComponentType<{ size: number; color: string; strokeWidth: number }>

export interface IconProps {
  readonly name: IconName
  readonly size?: number
  readonly color?: keyof Palette
  /** Overrides `color` where no token fits, such as on a tone. */
  readonly ink?: string
}

/** Never without words: there is text beside it, or the button around it has a label. */
export function Icon({ name, size = 20, color = 'text', ink }: IconProps) {
  const { colors } = useTheme()
  const Drawing: Drawing = ICONS[name]
  return (
    <View aria-hidden>
      <Drawing size={size} color={ink ?? colors[color]} strokeWidth={1.75} />
    </View>
  )
}
