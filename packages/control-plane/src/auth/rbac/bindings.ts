import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { UserInfo } from '../../apimachinery/users/user.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { Store } from '../../store/store.ts';
import type { PolicyRule } from './rules.ts';
import { keysOf, type Subject, subjectKey } from './subjects.ts';

const GROUP = 'rbac.authorization.k8s.io';

export interface Binding {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding';
  readonly namespace: string;
  readonly name: string;
  readonly role: { readonly kind: string; readonly name: string };
  readonly subjects: readonly Subject[];
}

export interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
}

const placeOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/**
 * The index parses a changed role or binding only when a request needs the role. Requests of administrators need no
 * roles.
 */
export class BindingIndex {
  /** The stored roles by namespace and name. ClusterRoles have the namespace ''. */
  readonly #roles = new Map<string, StoredRecord>();
  /** Changed roles and bindings that the index has not parsed yet. */
  readonly #unread = new Map<string, StoredRecord>();
  readonly #bindings = new Map<string, Binding>();
  /** ClusterRoleBindings have the namespace ''. */
  readonly #grants = new Map<string, Map<string, Grant[]>>();

  constructor(store: Store) {
    const follow = (plural: string, put: (record: StoredRecord) => void, remove: (record: StoredRecord) => void) => {
      const resource = `${GROUP}/${plural}`;
      for (const record of store.list(resource).records) put(record);
      store.subscribe(resource, ({ type, record }) => (type === 'DELETED' ? remove(record) : put(record)));
    };
    for (const plural of ['roles', 'clusterroles']) {
      follow(
        plural,
        (record) => this.#roles.set(placeOf(record.namespace, record.name), record),
        (record) => this.#roles.delete(placeOf(record.namespace, record.name)),
      );
    }
    for (const plural of ['rolebindings', 'clusterrolebindings']) {
      follow(
        plural,
        (record) => {
          const place = placeOf(record.namespace, record.name);
          // A changed binding moves to the end of the map, because the newest binding is the last one in the index.
          this.#unread.delete(place);
          this.#unread.set(place, record);
        },
        ({ namespace, name }) => {
          this.#unread.delete(placeOf(namespace, name));
          this.#remove(placeOf(namespace, name));
        },
      );
    }
  }

  /**
   * Returns the bindings of a user in a namespace. For the namespace '', the result contains the bindings for the whole
   * cluster.
   */
  *grants(user: UserInfo, namespace: string): Generator<Grant> {
    for (const record of this.#unread.values()) this.#put(record);
    this.#unread.clear();
    const held = this.#grants.get(namespace);
    if (held === undefined) return;
    for (const key of keysOf(user)) yield* held.get(key) ?? [];
  }

  rules({ role, namespace }: Pick<Binding, 'role' | 'namespace'>): readonly PolicyRule[] | undefined {
    const record = this.#roles.get(placeOf(role.kind === 'Role' ? namespace : '', role.name));
    return record === undefined ? undefined : rulesOf(record);
  }

  #put(record: StoredRecord): void {
    const place = placeOf(record.namespace, record.name);
    this.#remove(place);
    const binding = bindingOf(record);
    this.#bindings.set(place, binding);
    const held = this.#grants.get(binding.namespace) ?? new Map<string, Grant[]>();
    this.#grants.set(binding.namespace, held);
    for (const subject of binding.subjects) {
      const key = subjectKey(subject, binding.namespace);
      if (key === undefined) continue;
      const grants = held.get(key);
      if (grants === undefined) held.set(key, [{ binding, subject }]);
      else grants.push({ binding, subject });
    }
  }

  #remove(place: string): void {
    const binding = this.#bindings.get(place);
    if (binding === undefined) return;
    this.#bindings.delete(place);
    const held = this.#grants.get(binding.namespace);
    for (const subject of binding.subjects) {
      const key = subjectKey(subject, binding.namespace) ?? '';
      const rest = held?.get(key)?.filter((grant) => grant.binding !== binding) ?? [];
      if (rest.length === 0) held?.delete(key);
      else held?.set(key, rest);
    }
    if (held?.size === 0) this.#grants.delete(binding.namespace);
  }
}

/** A stored record never changes, so the parsed rules stay correct. */
const rulesKept = new WeakMap<StoredRecord, readonly PolicyRule[]>();

function rulesOf(record: StoredRecord): readonly PolicyRule[] {
  const kept = rulesKept.get(record);
  if (kept !== undefined) return kept;
  const { rules } = JSON.parse(record.json) as ApiObject & { readonly rules?: readonly PolicyRule[] | null };
  rulesKept.set(record, rules ?? []);
  return rules ?? [];
}

function bindingOf({ namespace, name, json }: StoredRecord): Binding {
  const object = JSON.parse(json) as ApiObject & { roleRef: Binding['role']; subjects?: readonly Subject[] };
  const { kind, name: role } = object.roleRef;
  return {
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    namespace,
    name,
    role: { kind, name: role },
    subjects: object.subjects ?? [],
  };
}
