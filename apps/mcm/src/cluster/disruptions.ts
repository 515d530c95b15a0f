import { DISRUPTIONS } from '@mcm/core';
import { type ConfigMap, configMaps, ignoreNotFound, type KubeClient } from '@mcm/kube';

export interface ScopeDisruptions {
  readonly scope: string;
  readonly fields: Readonly<Record<string, string>>;
}

const KINDS = ['cluster', 'zone', 'class', 'deployment'];
const kindOf = (scope: string): number => KINDS.indexOf(scope.split('.')[0] ?? '');

function fieldsIn(row: string): Readonly<Record<string, string>> {
  const lines = row.split('\n').flatMap((line) => {
    const [, name, value] = /^([A-Za-z]+): (.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(lines);
}

/** Returns the disruptions in a ConfigMap. */
const disruptionsIn = ({ data = {} }: Pick<ConfigMap, 'data'>): readonly ScopeDisruptions[] =>
  Object.entries(data)
    .filter(([scope]) => kindOf(scope) >= 0)
    .map(([scope, row]) => ({ scope, fields: fieldsIn(row) }))
    .toSorted((a, b) => kindOf(a.scope) - kindOf(b.scope) || (a.scope < b.scope ? -1 : 1));

export async function readDisruptions(client: KubeClient, namespace: string): Promise<readonly ScopeDisruptions[]> {
  const object = await ignoreNotFound(client.resource<ConfigMap>(configMaps, namespace).get(DISRUPTIONS));
  return object === undefined ? [] : disruptionsIn(object);
}

/** Returns one line for each scope: its available machines, its disruption budget and its circuit breaker. */
export const disruptionLines = (all: readonly ScopeDisruptions[]): readonly string[] =>
  all.map(({ scope, fields }) => {
    const {
      available = '?',
      machines = '?',
      unavailable,
      allowed,
      inUse = '0',
      waiting,
      breaker,
      since,
      reason,
    } = fields;
    const parts = [
      `${available}/${machines} machines available${unavailable === undefined ? '' : ` (${unavailable})`}`,
      ...(allowed === undefined ? [] : [`${inUse} of ${allowed} allowed disruptions in use`]),
      ...(waiting === undefined || waiting === '0'
        ? []
        : [`${waiting} failed machines wait for the disruption budget`]),
      ...(breaker === undefined ? [] : [breakerText(breaker, since, reason)]),
    ];
    return `${scope.replace('.', ' ')}: ${parts.join('; ')}`;
  });

function breakerText(breaker: string, since: string | undefined, reason: string | undefined): string {
  const from = since === undefined ? '' : ` since ${since}`;
  return `circuit breaker ${breaker}${from}${reason === undefined ? '' : ` (${reason})`}`;
}
