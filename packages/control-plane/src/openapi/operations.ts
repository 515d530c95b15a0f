import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import { type Components, type Dialect, V2 } from './components.ts';
import { operationId, rootPath, schemaName, tagOf } from './names.ts';

const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const query = (dialect: Dialect, name: string, type: string, description: string): JsonObject => ({
  name,
  in: 'query',
  description,
  ...(dialect === V2 ? { type, uniqueItems: true } : { schema: { type, uniqueItems: true } }),
});

const path = (dialect: Dialect, name: string, description: string): JsonObject => ({
  name,
  in: 'path',
  description,
  required: true,
  ...(dialect === V2 ? { type: 'string', uniqueItems: true } : { schema: { type: 'string', uniqueItems: true } }),
});

/** Returns the parameters of write operations. */
const writeParameters = (dialect: Dialect): JsonObject[] => [
  query(dialect, 'dryRun', 'string', 'When present, indicates that modifications should not be persisted.'),
  query(
    dialect,
    'fieldManager',
    'string',
    'fieldManager is a name associated with the actor or entity that is making these changes.',
  ),
  query(
    dialect,
    'fieldValidation',
    'string',
    'fieldValidation instructs the server on how to handle objects in the request that contain unknown or duplicate fields.',
  ),
];

const listParameters = (dialect: Dialect): JsonObject[] => [
  query(dialect, 'allowWatchBookmarks', 'boolean', 'allowWatchBookmarks requests watch events with type "BOOKMARK".'),
  query(
    dialect,
    'continue',
    'string',
    'The continue option should be set when retrieving more results from the server.',
  ),
  query(dialect, 'fieldSelector', 'string', 'A selector to restrict the list of returned objects by their fields.'),
  query(dialect, 'labelSelector', 'string', 'A selector to restrict the list of returned objects by their labels.'),
  query(dialect, 'limit', 'integer', 'limit is a maximum number of responses to return for a list call.'),
  query(
    dialect,
    'resourceVersion',
    'string',
    'resourceVersion sets a constraint on what resource versions a request may be served from.',
  ),
  query(
    dialect,
    'resourceVersionMatch',
    'string',
    'resourceVersionMatch determines how resourceVersion is applied to list calls.',
  ),
  query(dialect, 'sendInitialEvents', 'boolean', 'sendInitialEvents=true may be set together with watch=true.'),
  query(dialect, 'timeoutSeconds', 'integer', 'Timeout for the list/watch call.'),
  query(dialect, 'watch', 'boolean', 'Watch for changes to the described resources and return them as a stream.'),
];

const deleteParameters = (dialect: Dialect): JsonObject[] => [
  query(dialect, 'dryRun', 'string', 'When present, indicates that modifications should not be persisted.'),
  query(dialect, 'gracePeriodSeconds', 'integer', 'The duration in seconds before the object should be deleted.'),
  query(dialect, 'orphanDependents', 'boolean', 'Deprecated: please use the PropagationPolicy.'),
  query(dialect, 'propagationPolicy', 'string', 'Whether and how garbage collection will be performed.'),
];

const PATCH_TYPES = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];

export class Operations {
  readonly paths: JsonObject = {};
  private readonly dialect: Dialect;
  private readonly components: Components;

  constructor(dialect: Dialect, components: Components) {
    this.dialect = dialect;
    this.components = components;
  }

  add(kind: KindDefinition): void {
    const root = rootPath(kind.group, kind.version);
    const verbs = new Set(kind.verbs ?? ALL_VERBS);
    const scope = kind.namespaced ? 'Namespaced' : '';
    const base = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
    const collection = this.collection(kind, verbs, scope);
    if (Object.keys(collection).length > 0) this.paths[base] = this.withScope(collection, kind, false);
    const item = this.item(kind, verbs, scope, '');
    if (Object.keys(item).length > 0) this.paths[`${base}/{name}`] = this.withScope(item, kind, true);
    if (kind.namespaced && verbs.has('list')) {
      const list = this.operation(
        kind,
        'list',
        `${operationId('list', kind, '')}ForAllNamespaces`,
        listParameters(this.dialect),
      );
      this.paths[`${root}/${kind.plural}`] = { get: list, parameters: [] };
    }
    this.addSubresources(kind, base, scope);
  }

  private addSubresources(kind: KindDefinition, base: string, scope: '' | 'Namespaced'): void {
    const changing = new Set(['get', 'update', 'patch']);
    const add = (name: string, of: KindDefinition): void => {
      const suffix = name.charAt(0).toUpperCase() + name.slice(1);
      this.paths[`${base}/{name}/${name}`] = this.withScope(this.item(kind, changing, scope, suffix, of), kind, true);
    };
    if (kind.subresources?.status === true) add('status', kind);
    if (kind.subresources?.scale !== undefined) {
      add('scale', { ...kind, group: 'autoscaling', version: 'v1', kind: 'Scale' });
    }
  }

  private withScope(operations: JsonObject, kind: KindDefinition, isItem: boolean): JsonObject {
    const parameters: JsonObject[] = [];
    if (isItem) parameters.push(path(this.dialect, 'name', `name of the ${kind.kind}`));
    if (kind.namespaced) {
      parameters.push(path(this.dialect, 'namespace', 'object name and auth scope, such as for teams and projects'));
    }
    parameters.push(query(this.dialect, 'pretty', 'string', "If 'true', then the output is pretty printed."));
    return { ...operations, parameters };
  }

  private collection(kind: KindDefinition, verbs: ReadonlySet<string>, scope: '' | 'Namespaced'): JsonObject {
    const made: JsonObject = {};
    const { dialect } = this;
    if (verbs.has('list')) {
      made.get = this.operation(kind, 'list', operationId('list', kind, scope), listParameters(dialect));
    }
    if (verbs.has('create')) {
      made.post = this.operation(kind, 'post', operationId('create', kind, scope), writeParameters(dialect), true);
    }
    if (verbs.has('deletecollection')) {
      const id = operationId('deleteCollection', kind, scope).replace('deleteCollection', 'deleteCollection');
      made.delete = this.operation(kind, 'deletecollection', id, [
        ...deleteParameters(dialect),
        ...listParameters(dialect),
      ]);
    }
    return made;
  }

  private item(
    kind: KindDefinition,
    verbs: ReadonlySet<string>,
    scope: '' | 'Namespaced',
    suffix: string,
    shown: KindDefinition = kind,
  ): JsonObject {
    const made: JsonObject = {};
    const { dialect } = this;
    const id = (verb: string): string => operationId(verb, kind, scope, suffix);
    if (verbs.has('get')) made.get = this.operation(shown, 'get', id('read'), []);
    if (verbs.has('update')) made.put = this.operation(shown, 'put', id('replace'), writeParameters(dialect), true);
    if (verbs.has('delete')) made.delete = this.operation(shown, 'delete', id('delete'), deleteParameters(dialect));
    if (verbs.has('patch')) {
      const force = query(dialect, 'force', 'boolean', 'Force is going to "force" Apply requests.');
      made.patch = this.operation(
        shown,
        'patch',
        id('patch'),
        [...writeParameters(dialect), force],
        true,
        !kind.custom,
      );
    }
    return made;
  }

  private content(kind: KindDefinition): JsonObject {
    // The schema of Scale exists only in the document of autoscaling/v1.
    if (kind.kind === 'Scale' || kind.schema === undefined) return { schema: { type: 'object' } };
    return { schema: { $ref: `${this.dialect.prefix}${schemaName(kind)}` } };
  }

  private operation(
    kind: KindDefinition,
    action: string,
    id: string,
    parameters: JsonObject[],
    hasBody = false,
    strategic = false,
  ): JsonObject {
    const types =
      action === 'patch'
        ? [...PATCH_TYPES, ...(strategic ? ['application/strategic-merge-patch+json'] : [])]
        : ['application/json'];
    const body = this.content(kind);
    const common: JsonObject = {
      tags: [tagOf(kind)],
      operationId: id,
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group: kind.group, version: kind.version, kind: kind.kind },
    };
    if (this.dialect === V2) {
      const bodyParameter: JsonObject = { name: 'body', in: 'body', required: true, ...body };
      return {
        ...common,
        consumes: types,
        produces: ['application/json', 'application/yaml'],
        schemes: ['https'],
        parameters: hasBody ? [bodyParameter, ...parameters] : parameters,
        responses: { '200': { description: 'OK', ...body }, '401': { description: 'Unauthorized' } },
      };
    }
    const content: Json = { 'application/json': body, 'application/yaml': body };
    const sent = Object.fromEntries(types.map((type) => [type, body]));
    return defined({
      ...common,
      parameters,
      requestBody: hasBody ? { required: true, content: sent } : undefined,
      responses: { '200': { description: 'OK', content }, '401': { description: 'Unauthorized' } },
    });
  }

  get schemas(): JsonObject {
    return this.components.schemas;
  }
}
