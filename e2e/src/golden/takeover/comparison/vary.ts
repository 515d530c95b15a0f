/** This file changes recordings, so tests can verify the comparison itself. */

export interface RawState {
  at: number;
  after: string;
  changed: { kind: string; metadata: { name: string } }[];
  gone: string[];
}
export interface Raw {
  scenario: string;
  states: RawState[];
}
/** Changes the text of a recording. */
export type Change = (text: string) => string;

export const changing =
  (change: (raw: Raw) => void): Change =>
  (text) => {
    const raw = JSON.parse(text) as Raw;
    change(raw);
    return JSON.stringify(raw);
  };

export const widened: Change = (text) => {
  const wide = text
    .replaceAll(
      /"(replicas|[a-zA-Z]+Replicas)":\s*(\d+)/g,
      (_all, name: string, count: string) => `"${name}":${2 * Number(count)}`,
    )
    .replaceAll(
      /(desired-replicas":\s*")(\d+)"/g,
      (_all, name: string, count: string) => `${name}${2 * Number(count)}"`,
    )
    .replaceAll(
      /(max-replicas":\s*")(\d+)"/g,
      (_all, name: string, count: string) => `${name}${2 * (Number(count) - 1) + 1}"`,
    )
    .replaceAll(
      /(Scaled \w+ machine set \S+ to )(\d+)/g,
      (_all, words: string, count: string) => words + 2 * Number(count),
    );
  return changing(({ states }) => {
    for (const state of states) {
      state.changed.push(...state.changed.filter(isOfMachine).map(twinOf));
      for (const object of state.changed) widenFailures(object);
      state.gone.push(...state.gone.filter((key) => /^(Machine|Node)\//.test(key)).map((key) => `${key}x`));
    }
  })(wide);
};

const MACHINE = /\b(pool-6f576-[a-z0-9]{5})\b/g;
const isOfMachine = (object: RawState['changed'][number]): boolean =>
  ['Machine', 'Node'].includes(object.kind) || /"SuccessfulCreate"|"SuccessfulDelete"/.test(JSON.stringify(object));
function twinOf<T extends RawState['changed'][number]>(object: T): T {
  const twin = JSON.parse(JSON.stringify(object).replaceAll(MACHINE, '$1x')) as T & { metadata: { uid: string } };
  twin.metadata.uid = `${twin.metadata.uid}x`;
  if (object.kind === 'Event') twin.metadata.name = `${twin.metadata.name}x`;
  return twin;
}
function widenFailures(object: object): void {
  const { status } = object as { status?: { failedMachines?: object[] } };
  const failed = status?.failedMachines ?? [];
  failed.push(...(JSON.parse(JSON.stringify(failed).replaceAll(MACHINE, '$1x')) as object[]));
}
