import { Labels, type MachineDeployment } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import { planRollout } from '../plan.ts';
import type { RolloutPlan } from '../state/step.ts';
import type { DeploymentSnapshot } from '../state/view.ts';

const list = (names: readonly string[]): string => [...names].sort().join(', ');

function changesOf(plan: RolloutPlan, { sets }: DeploymentSnapshot): readonly string[] {
  const before = new Map(sets.map(({ metadata, spec }) => [metadata.uid, spec.replicas ?? 0]));
  const resized = plan.write.filter(({ metadata, spec }) => before.get(metadata.uid) !== (spec.replicas ?? 0));
  const selected = plan.inPlace.nodes.filter(
    ({ change }) => change.metadata?.labels?.[Labels.SelectedForUpdate] === 'true',
  );
  const moved = plan.inPlace.machines.filter(({ body }) => JSON.stringify(body).includes('ownerReferences'));
  return [
    ...(plan.create ? [`create ${plan.create.metadata.name} with ${plan.create.spec.replicas}`] : []),
    ...resized
      .map(({ metadata, spec }) => `${metadata.name} ${before.get(metadata.uid)} → ${spec.replicas ?? 0}`)
      .sort(),
    ...(plan.remove.length > 0 ? [`remove ${list(plan.remove.map(({ metadata }) => metadata.name))}`] : []),
    ...(selected.length > 0 ? [`select ${list(selected.map(({ node }) => node.metadata.name))}`] : []),
    ...(moved.length > 0 ? [`move ${list(moved.map(({ machine }) => machine.metadata.name))}`] : []),
    ...(plan.rollback ? ['roll back'] : []),
    ...(plan.pause ? ['pause'] : []),
  ];
}

/** Records each decision about a MachineDeployment and its MachineSets as one line. */
export class Transcript {
  readonly #lines: { readonly ms: number; readonly of: string; readonly text: string }[] = [];
  readonly #names = new Map<string, string>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  readonly decide = (snapshot: DeploymentSnapshot): RolloutPlan => {
    const plan = planRollout(snapshot);
    for (const set of [...snapshot.sets, ...(plan.create ? [plan.create] : [])]) {
      this.#names.set(set.metadata.name ?? '', set.spec.template.spec.class.name ?? '');
    }
    const changes = changesOf(plan, snapshot);
    this.#note('deployment', `${changes.join('; ') || 'wait'}: ${plan.because}`);
    return plan;
  };

  logger(log: Logger): Logger {
    const info: Logger['info'] = (message, fields = {}) => {
      const { set, count, because, machines } = fields;
      if (message === 'Creating machines') this.#note(`set ${set}`, `create ${count}: ${because}`);
      if (message === 'Deleting machines') this.#note(`set ${set}`, `delete ${list(machines as string[])}: ${because}`);
      log.info(message, fields);
    };
    return { debug: log.debug, warn: log.warn, error: log.error, with: (fields) => log.with(fields), info };
  }

  user(text: string): void {
    this.#note('user', text);
  }

  machine(name: string, className: string): void {
    if (this.#names.has(name)) return;
    const earlier = [...this.#names.values()].filter((known) => known.startsWith(`${className}-`)).length;
    this.#names.set(name, `${className}-${earlier + 1}`);
  }

  #note(of: string, text: string): void {
    this.#lines.push({ ms: this.#monotonic(), of, text });
  }

  print(): string {
    const start = this.#lines[0]?.ms ?? 0;
    const names = [...this.#names].sort(([a], [b]) => b.length - a.length);
    const plain = (text: string): string => names.reduce((all, [name, shown]) => all.replaceAll(name, shown), text);
    const lines: string[] = [];
    const last = new Map<string, string>();
    for (const { ms, of, text } of this.#lines) {
      const [object, decision] = [plain(of), plain(text)];
      if (of !== 'user' && last.get(object) === decision) continue;
      last.set(object, decision);
      if (of === 'user') last.clear();
      lines.push(`${((ms - start) / 1000).toFixed(1).padStart(7)} s  ${object.padEnd(10)}  ${decision}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

export const rolling = (maxSurge: number, maxUnavailable: number): Pick<MachineDeployment['spec'], 'strategy'> => ({
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
});
