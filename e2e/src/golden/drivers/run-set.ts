import { errorText } from '@mcm/kube';
import { type Counts, sumOf } from '../common/counts.ts';
import type { Outcome } from '../common/set.ts';
import { excusedIn } from './excused.ts';
import type { PlayedCall } from './expected.ts';
import { callsOf, isJson, type ReadCase, type RecordedCase, readCases } from './recording.ts';

export type Watch = (played: PlayedCall) => void;

/** @returns the difference; undefined without a difference */
export type PlayCase = (recorded: RecordedCase, watch?: Watch) => Promise<string | undefined>;

/**
 * Compares a replayed call with its expectation and with the allowed alternatives.
 * @returns the difference.
 */
export function verified(played: PlayedCall, watch: Watch | undefined): string | undefined {
  watch?.(played);
  const { recorded, step, verify } = played;
  const difference = verify(step);
  const isAccepted = (recorded.alsoAccepted ?? []).some((other) => verify(other) === undefined);
  if (difference === undefined || isAccepted) return undefined;
  const at = recorded.steps ? `step ${recorded.steps.indexOf(step) + 1} ` : '';
  return `${at}${step.method} (${recorded.title}): ${difference}`;
}

/** Replays all cases of a cloud. */
export async function* runCases(dir: string, cloud: string, play: PlayCase): AsyncIterable<Outcome> {
  for (const read of await readCases(dir, cloud)) {
    const counts: Counts[] = [];
    const failure = await playOne(read, (recorded) => play(recorded, (played) => counts.push(excusedIn(played))));
    yield { name: read.name, failure, counts: sumOf(counts) };
  }
}

async function playOne(read: ReadCase, play: PlayCase): Promise<string | undefined> {
  if ('problem' in read) return read.problem;
  try {
    const { recorded } = read;
    return isPlayable(recorded) ? await play(withSpec(recorded)) : refusalMissing(recorded);
  } catch (thrown) {
    return `cannot replay this recorded case: ${errorText(thrown)}`;
  }
}

const isPlayable = ({ providerSpecRaw: raw }: RecordedCase): boolean => raw === undefined || raw === '' || isJson(raw);

const withSpec = (recorded: RecordedCase): RecordedCase => {
  const { providerSpecRaw: raw } = recorded;
  return raw ? { ...recorded, providerSpec: JSON.parse(raw) as unknown } : recorded;
};

/** The API server refuses a class if its provider spec is not JSON. */
const refusalMissing = (recorded: RecordedCase): string | undefined =>
  callsOf(recorded).every(({ result }) => result.errorCode !== null || result.panic !== undefined)
    ? undefined
    : 'the original accepted a provider spec in another format than JSON, which an API server cannot store';
