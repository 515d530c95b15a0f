/**
 * The OpenAPI definitions of Kubernetes contain the description and the allowed values of each field.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The key `name[]` means the items of a list or the values of a map. */
export interface ModelTexts {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly enums: Readonly<Record<string, readonly string[]>>;
}

const SOURCE = 'pkg/generated/openapi/zz_generated.openapi.go';

const goText = (literal: string | undefined): string => (literal === undefined ? '' : (JSON.parse(literal) as string));
const goList = (literal: string): string[] => JSON.parse(`[${literal}]`) as string[];

function readFields(part: string): Omit<ModelTexts, 'text'> {
  const fields: Record<string, string> = {};
  const enums: Record<string, readonly string[]> = {};
  for (const field of part.split(/^\t{5}"(?=.*": \{$)/m).slice(1)) {
    const name = field.slice(0, field.indexOf('"'));
    const text = goText(/^\t{7}Description: +(".*"),$/m.exec(field)?.[1]);
    if (text !== '') fields[name] = text;
    const values = /^(\t+)Enum: +\[\]interface\{\}\{(.*)\},$/m.exec(field);
    if (values !== null) enums[values[1]?.length === 7 ? name : `${name}[]`] = goList(values[2] ?? '');
  }
  return { fields, enums };
}

/**
 * Reads the definitions in a source folder of Kubernetes (`k8s.io/kubernetes` of the Go module cache).
 * @throws Error unless exactly one definition has the name
 */
export function readTexts(folder: string): (id: string) => ModelTexts {
  const parts = readFileSync(join(folder, SOURCE), 'utf8')
    .split(/^func schema_/m)
    .slice(1);
  const byName = new Map(parts.map((part) => [part.slice(0, part.indexOf('(')), part]));
  return (id) => {
    const suffix = `_${id.split('.').slice(-3).join('_')}`;
    const [name = '', ...others] = [...byName.keys()].filter((key) => key.endsWith(suffix));
    const part = byName.get(name);
    if (part === undefined || others.length > 0) throw new Error(`${SOURCE} does not have one ${id}`);
    const head = part.slice(0, part.includes('Properties:') ? part.indexOf('Properties:') : undefined);
    return { text: goText(/Description: +(".*"),\n/.exec(head)?.[1]), ...readFields(part) };
  };
}
