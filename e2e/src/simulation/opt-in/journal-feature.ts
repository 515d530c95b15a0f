import { Annotations } from '@mcm/api';
import {
  Journal,
  type JournalText,
  journalPage,
  knownOf,
  type RecordedDecision,
  type Repeat,
  readJournal,
  repeatDecision,
  replayJournal,
} from '@mcm/core';
import { type Secret, secrets } from '@mcm/kube';
import type { Dice } from '../script/dice.ts';
import { follow } from '../verifiers/follow.ts';
import { NAMESPACE, type World } from '../world/world.ts';
import type { Feature, OptIn } from './feature.ts';

/** Small limits, so that each history reaches them. */
const LIMITS = { perObject: 6, total: 48 } as const;

/** The maximum response time of the journal page. */
const READ_MS = 60_000;

const CLOUD_TOKEN = 'cloud-token-5e71';
const COPY = 'copy-of-a-secret-8c02';
const SPEC = 'spec-with-a-secret-31d9';

/** A version of mcm that decides as if the deployment had one replica less. */
const fewerMachines: Repeat = (kind, input, now) => {
  if (kind !== 'machinedeployment') return repeatDecision(kind, input, now);
  const { deployment } = input as { readonly deployment: { readonly spec: { readonly replicas?: number } } };
  const { spec } = deployment;
  const changed = { ...deployment, spec: { ...spec, replicas: (spec.replicas ?? 0) - 1 } };
  return repeatDecision(kind, { ...(input as object), deployment: changed }, now);
};

const nameOf = ({ kind, subject, at }: RecordedDecision): string => `${kind} of ${subject.name} at ${at}`;

/**
 * Verifies the journal of both controllers, as `mcm debug bundle` stores it:
 * - The number of records stays below the limits.
 * - The text contains no secret of the cloud, of a class, or of a bootstrap token.
 * - A replay with the same version finds no difference. A replay with another version finds a difference.
 */
class JournalFeature implements Feature {
  readonly maxWaitMs = 60_000;
  readonly #world: World;
  readonly #journal: Journal;
  readonly #hidden = new Set([CLOUD_TOKEN, COPY, SPEC]);
  #verified = 0;

  constructor(world: World, journal: Journal, signal: AbortSignal) {
    this.#world = world;
    this.#journal = journal;
    follow<Secret>(world, secrets, signal, ({ object: { data = {} } }) => {
      const token = data['token-secret'];
      if (token !== undefined) this.#hidden.add(Buffer.from(token, 'base64').toString());
    });
  }

  get verified(): number {
    return this.#verified;
  }

  /** The cloud quotes its token in an error. A user collects a bundle at any time. */
  async act(dice: Dice): Promise<void> {
    const { reporter, cloud } = this.#world;
    reporter.note('act', 'the cloud quotes its token in an error');
    const message = `request with Bearer ${CLOUD_TOKEN} failed`;
    const operation = dice.number(2) === 0 ? 'instances.create' : 'instances.delete';
    cloud.faults.order({ operation, error: { code: 'InternalError', message }, count: 1 + dice.number(3) });
    await this.#verify();
  }

  async calm(): Promise<void> {
    // The fleet itself removes the faults of the cloud, so this method does nothing.
  }

  async verifyTimely(): Promise<void> {
    await this.#verify();
  }

  async verifyEnd(): Promise<void> {
    await this.#verify();
  }

  async #verify(): Promise<void> {
    this.#verifyLimits();
    const text = await this.#text();
    for (const hidden of this.#hidden)
      if (text.includes(hidden)) this.#world.reporter.violate(`the journal contains the secret ${hidden}`);
    this.#verifyReplay(readJournal(text.split('\n')));
  }

  #verifyLimits(): void {
    const { reporter } = this.#world;
    const entries = this.#journal.entries();
    const counts = new Map<string, number>();
    for (const { kind, subject } of entries) {
      const key = `${kind} ${subject.name} ${subject.uid}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    if (entries.length > LIMITS.total) reporter.violate(`the journal has ${entries.length} records`);
    for (const [key, count] of counts)
      if (count > LIMITS.perObject) reporter.violate(`the journal has ${count} records about ${key}`);
  }

  async #text(): Promise<string> {
    const { admin, clock } = this.#world;
    const all = await admin.resource<Secret>(secrets, NAMESPACE).list();
    const known = () => knownOf(all.items);
    const page = journalPage({ journal: this.#journal, version: '0', controller: 'both', clock, known });
    const { body } = await clock.ended(page.answer(new URLSearchParams()), { maxMs: READ_MS });
    return body;
  }

  #verifyReplay({ records, problems: unread }: JournalText): void {
    const { reporter } = this.#world;
    const { repeated, differences, problems } = replayJournal(records);
    for (const problem of [...unread, ...problems]) reporter.violate(`the journal cannot be replayed: ${problem}`);
    for (const { record, difference, because } of differences.slice(0, 1))
      reporter.violate(`the replay differs for the ${nameOf(record)}: ${JSON.stringify(difference)} ${because}`);
    if (repeated !== records.length) reporter.violate(`the replay repeats ${repeated} of ${records.length} decisions`);
    this.#verified += repeated;
    const hasMachines = records.some(({ kind, actions }) => kind === 'machinedeployment' && actions.length > 0);
    if (hasMachines && replayJournal(records, fewerMachines).differences.length === 0)
      reporter.violate('a replay with another version finds no difference');
  }
}

export function journalOptIn(): OptIn {
  const journal = new Journal(LIMITS);
  return {
    options: {
      journal,
      secretData: { token: CLOUD_TOKEN },
      classAnnotations: { [Annotations.LastAppliedConfiguration]: JSON.stringify({ userData: COPY }) },
      classFields: {
        providerSpec: {
          image: 'hollow:v1',
          zone: 'local-a',
          tags: { 'kubernetes.io/cluster/simulation': '1', 'kubernetes.io/role/node': '1', note: SPEC },
        },
      },
    },
    watch: (world, signal) => new JournalFeature(world, journal, signal),
  };
}
