export class Ec2Error extends Error {
  readonly http: number;
  readonly code: string;

  constructor(code: string, message: string, http = 400) {
    super(message);
    this.code = code;
    this.http = http;
  }
}

export type Params = Readonly<Record<string, string>>;

export const listOf = (params: Params, prefix: string): string[] => {
  const found: string[] = [];
  for (let i = 1; params[`${prefix}.${i}`] !== undefined; i++) found.push(params[`${prefix}.${i}`] ?? '');
  return found;
};

export const entriesOf = (params: Params, prefix: string): Params[] => {
  const entries = new Map<number, Record<string, string>>();
  for (const [key, value] of Object.entries(params)) {
    const [, index, rest] = new RegExp(`^${prefix}\\.(\\d+)\\.(.+)$`).exec(key) ?? [];
    if (index === undefined || rest === undefined) continue;
    const entry = entries.get(Number(index)) ?? {};
    entry[rest] = value;
    entries.set(Number(index), entry);
  }
  return [...entries].toSorted(([a], [b]) => a - b).map(([, entry]) => entry);
};
