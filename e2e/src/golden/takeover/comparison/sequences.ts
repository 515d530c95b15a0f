import type { KubeObject } from '@mcm/kube';
import { type ComparedFields, comparedFieldsOf } from '../recordings/compared-fields.ts';
import type { Names } from '../recordings/names.ts';
import type { ObjectStates } from '../recordings/object-states.ts';

export interface Visit {
  readonly value: string;
  readonly from: number;
  readonly to: number;
}

export interface Course {
  readonly name: string;
  readonly kind: string;
  readonly lanes: ReadonlyMap<string, readonly Visit[]>;
}

export const ABSENT = 'absent';
const METADATA = /^\.metadata\.(labels|annotations|finalizers|ownerReferences\[.*\]\.name|deletionTimestamp)/;
const CONDITION = /^(\.status\.conditions\[[^\]]+\])\.(status|reason)$/;
/** The fields for which other programs depend on the order of the values. */
const LANES: Readonly<Record<string, RegExp>> = {
  Machine: /^\.spec\.providerID$|^\.status\.currentStatus\.phase$/,
  Node: /^\.spec\.(taints\[.*\]\.effect|unschedulable)$/,
  MachineSet: /^$/,
  MachineDeployment: /^\.spec\.paused$/,
  MachineClass: /^$/,
};
const OPERATION = '.status.lastOperation';
const PRESENCE = 'presence';

/** Returns the values over time of all objects that controllers write. */
export function coursesOf(lives: readonly ObjectStates[], names: Names, until: number): readonly Course[] {
  return lives.filter(({ kind }) => kind in LANES).map((life) => courseOf(life, names, until));
}

function courseOf(life: ObjectStates, names: Names, until: number): Course {
  const lanes = new Map<string, Visit[]>();
  const moments = life.versions.filter(({ at }) => at <= until);
  for (const [index, { at, object }] of moments.entries()) {
    const to = moments[index + 1]?.at ?? Math.min(life.goneAt ?? until, until);
    const now = valuesOf(object, names);
    for (const lane of new Set([...lanes.keys(), ...now.keys()])) visit(lanes, lane, now.get(lane) ?? ABSENT, at, to);
  }
  if (life.goneAt !== undefined && life.goneAt <= until) visit(lanes, PRESENCE, 'gone', life.goneAt, until);
  const name = moments[0]?.object.metadata.name ?? '?';
  return { name: names.part(name), kind: life.kind, lanes };
}

function visit(lanes: Map<string, Visit[]>, lane: string, value: string, from: number, to: number): void {
  const visits = lanes.get(lane) ?? [];
  lanes.set(lane, visits);
  const last = visits.at(-1);
  if (last?.value === value) visits[visits.length - 1] = { ...last, to };
  else visits.push({ value, from, to });
}

function valuesOf(object: KubeObject, names: Names): ReadonlyMap<string, string> {
  const picture = comparedFieldsOf(object, names);
  const values = new Map<string, string>([[PRESENCE, 'there']]);
  for (const [path, value] of picture) {
    const condition = CONDITION.exec(path);
    if (condition?.[1]) values.set(condition[1], conditionAt(picture, condition[1]));
    else if (METADATA.test(path) || LANES[object.kind]?.test(path)) values.set(path, value);
  }
  const operation = ['type', 'state', 'errorCode', 'description'].map((field) => picture.get(`${OPERATION}.${field}`));
  if (operation.some((part) => part !== undefined)) values.set(OPERATION, operation.filter(Boolean).join(' '));
  return values;
}

const conditionAt = (picture: ComparedFields, path: string): string =>
  `${picture.get(`${path}.status`) ?? ''}/${picture.get(`${path}.reason`) ?? ''}`;
