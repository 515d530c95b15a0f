import type { ApiObject } from '../../../apimachinery/objects/object.ts';

const DEFAULT = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];

const isDefault = ({ metadata }: ApiObject): boolean => DEFAULT.some((key) => metadata.annotations?.[key] === 'true');

/** The newest default class takes precedence. */
export function defaultClass(classes: Iterable<ApiObject>): ApiObject | undefined {
  const time = ({ metadata }: ApiObject): number => Date.parse(metadata.creationTimestamp ?? '') || 0;
  const name = ({ metadata }: ApiObject): string => metadata.name ?? '';
  return [...classes].filter(isDefault).sort((a, b) => time(b) - time(a) || (name(a) < name(b) ? -1 : 1))[0];
}
