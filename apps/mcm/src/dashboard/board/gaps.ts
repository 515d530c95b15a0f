import { formatTime } from '@mcm/api';
import { type Clock, errorText, type Informer, type KubeObject } from '@mcm/kube';
import { needsText } from '../../cluster/allowed.ts';
import { visible } from '../rows/text.ts';

export interface Gaps {
  readonly missing: readonly string[];
  /** The kinds that the user may not read, with the missing permissions. */
  readonly refused: ReadonlyMap<string, string>;
  readonly stale: { readonly kinds: readonly string[]; readonly since: Date } | undefined;
  /** The last error that occurred when the dashboard read a missing or outdated kind. */
  readonly why: string | undefined;
}

type Kind = Pick<Informer<KubeObject>, 'resource' | 'synced' | 'refused' | 'sinceDataMs'>;

/** Stores which kinds the dashboard cannot watch, and the reasons. */
export class GapKeeper {
  readonly #clock: Clock;
  readonly #failing = new Map<string, unknown>();
  readonly #onChange: () => void;

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  readonly outage = (resource: string, failure: unknown): void => {
    const before = this.#failing.has(resource);
    if (failure === undefined) this.#failing.delete(resource);
    else this.#failing.set(resource, failure);
    if (before !== (failure !== undefined)) this.#onChange();
  };

  of(kinds: readonly Kind[]): Gaps {
    const refused = kinds.flatMap((kind) => (kind.refused ? [[kind.resource, needsText(kind.refused)] as const] : []));
    const others = kinds.filter((kind) => kind.refused === undefined);
    const failing = others.filter(({ resource }) => this.#failing.has(resource));
    const stale = failing.filter(({ synced }) => synced);
    const heardMs = Math.min(...stale.map((kind) => kind.sinceDataMs()));
    const [first] = failing;
    return {
      missing: others.filter(({ synced }) => !synced).map(({ resource }) => resource),
      refused: new Map(refused),
      stale:
        stale.length === 0
          ? undefined
          : { kinds: stale.map(({ resource }) => resource), since: new Date(this.#clock.now().getTime() - heardMs) },
      why: first && errorText(this.#failing.get(first.resource)),
    };
  }
}

/** Returns sentences about missing data, its cause, and the missing permissions. */
export function gapSentences({ missing, refused, stale, why = '' }: Gaps): readonly string[] {
  return [
    ...(stale
      ? [
          `No connection to the API server: the dashboard shows ${stale.kinds.join(', ')} as of ${formatTime(stale.since)}. The dashboard reconnects automatically.`,
        ]
      : []),
    ...(missing.length > 0 ? [`Still loading: ${missing.join(', ')}.`] : []),
    ...((stale || missing.length > 0) && why !== ''
      ? [`The most recent error of the connection: ${visible(why)}`]
      : []),
    ...[...refused].map(([kind, needs]) => `No permission to read ${kind}: needs ${needs}.`),
  ];
}
