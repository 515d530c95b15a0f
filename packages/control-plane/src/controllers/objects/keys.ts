import type { ApiObject } from '../../apimachinery/objects/object.ts';

export const keyOf = (object: Pick<ApiObject, 'metadata'>): string => {
  const { namespace, name = '' } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
};

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return slash === -1 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
