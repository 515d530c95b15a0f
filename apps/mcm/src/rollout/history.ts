import type { MachineSet } from '@mcm/api';
import { revisionOf, splitSets } from '@mcm/core';
import { type DeploymentReading, readDeployment } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';
import { columns } from '../output/columns.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import type { Target } from './actions.ts';

const CHANGE_CAUSE = 'kubernetes.io/change-cause';

interface RevisionView {
  readonly revision: number;
  readonly set: string;
  readonly class: string;
  readonly machines: number;
  readonly current: boolean;
  readonly changeCause?: string | undefined;
}

/** Returns all revisions of a deployment, the oldest first. */
function revisionsOf({ deployment, sets, machines }: DeploymentReading): readonly RevisionView[] {
  const { current } = splitSets(deployment, sets);
  return sets
    .map((set) => {
      const cause = set.metadata.annotations?.[CHANGE_CAUSE];
      return {
        revision: revisionOf(set) ?? 0,
        set: set.metadata.name,
        class: set.spec.template.spec.class.name ?? '',
        machines: machines.get(set.metadata.uid)?.length ?? 0,
        current: set === current,
        changeCause: cause,
      };
    })
    .sort((a, b) => a.revision - b.revision);
}

export async function history(target: Target, format: OutputFormat = 'text'): Promise<string[]> {
  const reading = await readDeployment(target.client, target.namespace, target.name);
  const rows = revisionsOf(reading);
  return formatted(format, rows, () => [...tableOf(rows), ...noteOf(reading, rows)]);
}

function noteOf({ deployment }: DeploymentReading, rows: readonly RevisionView[]): string[] {
  if (rows.some(({ current }) => current)) return [];
  const { name = '?' } = deployment.spec.template.spec.class;
  return [`The template of the deployment (class ${name}) has no set and no revision yet.`];
}

function tableOf(rows: readonly RevisionView[]): string[] {
  const cells = rows.map((row) => [
    `${row.revision}${row.current ? '*' : ''}`,
    row.set,
    row.class,
    String(row.machines),
    row.changeCause ?? '<none>',
  ]);
  return columns([['REVISION', 'SET', 'CLASS', 'MACHINES', 'CHANGE-CAUSE'], ...cells]);
}

/** @throws UserError if the revision does not exist */
export async function revisionTemplate(
  target: Target,
  revision: number,
  format: OutputFormat = 'text',
): Promise<string[]> {
  const { sets } = await readDeployment(target.client, target.namespace, target.name);
  const set: MachineSet | undefined = sets.find((candidate) => revisionOf(candidate) === revision);
  if (set) return formatted(format === 'json' ? 'json' : 'yaml', set.spec.template, () => []);
  const known = sets.flatMap((candidate) => revisionOf(candidate) ?? []).sort((a, b) => a - b);
  throw new UserError(
    `machinedeployment ${target.name} has no revision ${revision}; existing revisions: ${known.join(', ') || 'none'}`,
  );
}
