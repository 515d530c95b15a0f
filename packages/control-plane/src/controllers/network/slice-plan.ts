import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, type Plain } from '../../apimachinery/objects/plain.ts';

const MOST = 100;

/** Endpoints for EndpointSlices. All endpoints have the same port names and port numbers. */
export interface SliceContent {
  readonly addressType: string;
  readonly ports: readonly Plain[];
  readonly endpoints: readonly Plain[];
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: ApiObject; readonly content: SliceContent }[];
  readonly remove: readonly ApiObject[];
}

interface Draft {
  readonly slice: ApiObject;
  readonly endpoints: Plain[];
  isChanged: boolean;
}

const groupId = (addressType: unknown, ports: readonly Plain[]): string => JSON.stringify([addressType, ports]);
const idOf = ({ addresses, targetRef }: Plain): string => JSON.stringify([addresses, targetRef]);

/** Returns the endpoints that stay in a slice. */
function draftOf(slice: ApiObject, left: Map<string, Plain>, hasLabels: boolean): Draft {
  let isChanged = !hasLabels;
  const endpoints: Plain[] = [];
  for (const endpoint of items(slice, 'endpoints')) {
    const id = idOf(endpoint);
    const wanted = left.get(id);
    left.delete(id);
    if (wanted === undefined || !jsonEquals(wanted, endpoint)) isChanged = true;
    if (wanted !== undefined) endpoints.push(wanted);
  }
  return { slice, endpoints, isChanged };
}

function fill(endpoints: Plain[], left: Map<string, Plain>): void {
  for (const [id, endpoint] of left) {
    if (endpoints.length >= MOST) return;
    endpoints.push(endpoint);
    left.delete(id);
  }
}

const fullestFirst = (a: Draft, b: Draft): number => b.endpoints.length - a.endpoints.length;

/** Existing endpoints stay in their slices. */
function planGroup(group: SliceContent, drafts: readonly Draft[], left: Map<string, Plain>): SliceContent[] {
  for (const draft of drafts
    .filter(({ isChanged, endpoints }) => isChanged && endpoints.length > 0)
    .sort(fullestFirst)) {
    fill(draft.endpoints, left);
  }
  const created: SliceContent[] = [];
  while (left.size > 0) {
    const room = MOST - left.size;
    const fitting = drafts.filter(({ isChanged, endpoints }) => !isChanged && endpoints.length <= room);
    const [best] = left.size < MOST ? fitting.sort(fullestFirst) : [];
    if (best === undefined) {
      const endpoints: Plain[] = [];
      fill(endpoints, left);
      created.push({ ...group, endpoints });
    } else {
      fill(best.endpoints, left);
      best.isChanged = true;
    }
  }
  return created;
}

/** Plans the fewest writes that change the existing slices to the wanted slices (`reconcileByPortMapping`). */
export function planSlices(
  known: readonly ApiObject[],
  groups: readonly SliceContent[],
  hasLabels: (slice: ApiObject) => boolean,
): SlicePlan {
  const free = new Set(known);
  const create: SliceContent[] = [];
  const update: { slice: ApiObject; content: SliceContent }[] = [];
  for (const group of groups) {
    const id = groupId(group.addressType, group.ports);
    const own = [...free].filter((slice) => groupId(slice.addressType, items(slice, 'ports')) === id);
    const left = new Map(group.endpoints.map((endpoint) => [idOf(endpoint), endpoint]));
    const isEmpty = left.size === 0;
    const drafts = own.map((slice) => draftOf(slice, left, hasLabels(slice)));
    create.push(...planGroup(group, drafts, left));
    let stands = false;
    for (const { slice, endpoints, isChanged } of drafts) {
      if (endpoints.length === 0 && (!isEmpty || stands)) continue;
      stands = true;
      free.delete(slice);
      if (isChanged) update.push({ slice, content: { ...group, endpoints } });
    }
    if (isEmpty && !stands) create.push(group);
  }
  const made = create.filter((content) => {
    const slice = [...free].find(({ addressType }) => addressType === content.addressType);
    if (slice === undefined) return true;
    free.delete(slice);
    update.push({ slice, content });
    return false;
  });
  return { create: made, update, remove: [...free] };
}
