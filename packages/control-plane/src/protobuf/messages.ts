import rows from './generated/messages.json' with { type: 'json' };

/** How a field of a message is read and named. */
export interface MessageField {
  readonly name: string;
  /** A letter for a scalar (see `generate.ts`), else the name of a message. */
  readonly type: string;
  readonly shape: 'single' | 'list' | 'map';
  /** JSON has the fields of the message in place of this one. */
  readonly inline: boolean;
}

const table: Readonly<Record<string, string>> = rows;
const known = new Map<string, ReadonlyMap<number, MessageField>>();

function parseField(word: string): MessageField {
  const colon = word.indexOf(':');
  const marked = word.slice(colon + 1);
  const inline = marked.startsWith('~');
  const type = inline ? marked.slice(1) : marked;
  const shape = type.startsWith('[]') ? 'list' : type.startsWith('{}') ? 'map' : 'single';
  return { name: word.slice(0, colon), type: shape === 'single' ? type : type.slice(2), shape, inline };
}

/** The fields of a message such as `core.v1.Pod` by number; undefined when there is no such message. */
export function messageFields(message: string): ReadonlyMap<number, MessageField> | undefined {
  let fields = known.get(message);
  if (fields === undefined && Object.hasOwn(table, message)) {
    const words = (table[message] ?? '').split(' ').filter((word) => word !== '');
    const parsed = new Map<number, MessageField>();
    for (let at = 0; at + 1 < words.length; at += 2) parsed.set(Number(words[at]), parseField(words[at + 1] ?? ''));
    fields = parsed;
    known.set(message, fields);
  }
  return fields;
}
