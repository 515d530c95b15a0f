export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

export interface Schemas {
  /** Returns the OpenAPI schema of a kind, or an empty schema if the server has none. */
  of(apiVersion: string, kind: string): Schema;
  /** Follows the references of an OpenAPI schema to other schemas. */
  resolve(schema: Schema): { readonly schema: Schema; readonly name: string };
}

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** Reads all OpenAPI v3 documents of a server. */
export async function readSchemas(get: (path: string) => Promise<unknown>): Promise<Schemas> {
  const index = (await get('/openapi/v3')) as {
    readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  };
  const all = new Map<string, Schema>();
  const kinds = new Map<string, Schema>();
  for (const { serverRelativeURL } of Object.values(index.paths)) {
    // The query of the document's URL is removed, because its hash changes with each new custom kind.
    const document = (await get(serverRelativeURL.replace(/\?.*/, ''))) as Document;
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      all.set(`#/components/schemas/${name}`, schema);
      const types = schema['x-kubernetes-group-version-kind'] ?? [];
      // Schemas of request options, such as DeleteOptions, belong to all API groups.
      const [only, second] = types;
      if (only === undefined || second !== undefined) continue;
      const apiVersion = only.group === '' ? only.version : `${only.group}/${only.version}`;
      kinds.set(`${apiVersion}/${only.kind}`, schema);
    }
  }
  const resolve: Schemas['resolve'] = (schema) => {
    let at = schema;
    let name = '';
    for (let hops = 0; hops < 10; hops += 1) {
      const ref = at.$ref ?? at.allOf?.[0]?.$ref;
      if (ref === undefined) break;
      name = ref.slice(ref.lastIndexOf('/') + 1);
      at = all.get(ref) ?? {};
    }
    return { schema: at, name };
  };
  return { of: (apiVersion, kind) => kinds.get(`${apiVersion}/${kind}`) ?? {}, resolve };
}
