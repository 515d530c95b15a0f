import type { Overload } from '../types/overload.ts';
import { authorizationLibrary } from './authorization.ts';
import { kubernetesLibrary } from './kubernetes.ts';
import { standardLibrary } from './standard.ts';
import { stringLibrary } from './strings.ts';

const key = (name: string, method: boolean): string => `${method ? '.' : ''}${name}`;

const table = new Map<string, Overload[]>();
for (const overload of [...standardLibrary, ...stringLibrary, ...kubernetesLibrary, ...authorizationLibrary]) {
  const id = key(overload.name, overload.method);
  table.set(id, [...(table.get(id) ?? []), overload]);
}

export const overloadsOf = (name: string, method: boolean): readonly Overload[] | undefined =>
  table.get(key(name, method));
