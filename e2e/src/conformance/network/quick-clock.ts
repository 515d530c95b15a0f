import { type Clock, realClock, type Timer, type Transport } from '@mcm/kube';

const STEP_MS = 500;
/** Each step of the clock takes at least this real time in milliseconds. */
const TURN_MS = 1;

/** A clock that runs in real time while requests to the cloud are pending. */
export interface QuickClock {
  readonly clock: Clock;
  readonly watch: (connect: (origin: string) => Transport) => (origin: string) => Transport;
}

export function quickClock(): QuickClock {
  const since = realClock.now().getTime();
  const timers = new Map<Timer, { readonly due: number; readonly callback: () => void }>();
  let passed = 0;
  let asked = 0;
  let turn: Timer | undefined;
  let looked = 0;

  const next = (): number => Math.min(...[...timers.values()].map(({ due }) => due));
  const wait = (): void => {
    if (turn !== undefined || timers.size === 0) return;
    looked = realClock.monotonic();
    turn = realClock.setTimeout(onTurn, TURN_MS);
  };
  const onTurn = (): void => {
    turn = undefined;
    passed += asked > 0 ? realClock.monotonic() - looked : Math.max(0, Math.min(STEP_MS, next() - passed));
    for (const [timer, { due, callback }] of [...timers]) if (due <= passed && timers.delete(timer)) callback();
    wait();
  };
  const clock: Clock = {
    now: () => new Date(since + passed),
    monotonic: () => passed,
    setTimeout(callback, ms) {
      const timer = { cancel: () => void timers.delete(timer) };
      timers.set(timer, { due: passed + Math.max(0, ms), callback });
      wait();
      return timer;
    },
  };

  const during = async <T>(work: Promise<T>): Promise<T> => {
    asked += 1;
    return work.finally(() => {
      asked -= 1;
    });
  };
  const watch: QuickClock['watch'] = (connect) => (origin) => {
    const below = connect(origin);
    return async (request) => {
      const answer = await during(below(request));
      const { status, headers, body } = answer;
      return { status, headers, body, text: () => during(answer.text()) };
    };
  };
  return { clock, watch };
}
