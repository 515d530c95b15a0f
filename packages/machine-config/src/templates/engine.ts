import { Liquid, type LiquidOptions } from 'liquidjs';

/** A template that cannot be read or filled. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

// Templates hold no code: Liquid knows variables, filters, conditions and loops. Nothing is read from disk, only own
// properties are seen, and what is unknown is an error instead of an empty text.
const OPTIONS: LiquidOptions = {
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 10_000_000,
  renderLimit: 10_000,
  memoryLimit: 100_000_000,
};

const KEY = /^[_a-z]\w*$/;

const url = (text: unknown): URL => {
  const parsed = URL.parse(String(text));
  if (parsed) return parsed;
  throw new TemplateError(`${JSON.stringify(text)} is no URL`);
};

const FILTERS: Readonly<Record<string, (value: unknown, given: unknown) => string>> = {
  /** Keeps a placeholder for somebody else: `{{ "index" | skip }}` becomes `{{.index}}`. */
  skip: (key) => {
    if (typeof key === 'string' && KEY.test(key)) return `{{.${key}}}`;
    throw new TemplateError(`invalid key for skip: ${JSON.stringify(key)} is no name such as "index"`);
  },
  toString: String,
  /** Indents every line but the first, for texts inside of YAML: `{{ text | indent: 4 }}`. */
  indent: (text, width) => String(text).replaceAll('\n', `\n${' '.repeat(Number(width))}`),
  urlHost: (text) => url(text).hostname,
  urlPort: (text) => {
    const { port, protocol } = url(text);
    return port || (protocol === 'https:' ? '443' : '80');
  },
};

let engine: Liquid | undefined;

/** Made for the first template: it takes longer than the rest of the package, of which most programs fill none. */
function filling(): Liquid {
  if (engine !== undefined) return engine;
  engine = new Liquid(OPTIONS);
  for (const [name, filter] of Object.entries(FILTERS)) engine.registerFilter(name, filter);
  return engine;
}

/**
 * Fills a template.
 * @param name for messages: the template's path
 * @throws TemplateError naming template, line and what is unknown there
 */
export function fillTemplate(name: string, text: string, data: object): string {
  try {
    return filling().parseAndRenderSync(text, data);
  } catch (error) {
    throw new TemplateError(`template ${name}: ${(error as Error).message}`, { cause: error });
  }
}
