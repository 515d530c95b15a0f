import rows from './generated/messages.json' with { type: 'json' };

export interface MessageField {
  readonly name: string;
  readonly type: string;
  readonly shape: 'single' | 'list' | 'map';
  /** Whether the fields of the message are inline in JSON. */
  readonly inline: boolean;
  /** Whether the writer encodes the field even if the field is empty. */
  readonly always: boolean;
}

/** The writer needs the fields in descending order of the numbers. */
export interface Message {
  readonly byNumber: ReadonlyMap<number, MessageField>;
  readonly descending: readonly (readonly [number: number, field: MessageField])[];
}

const table: Readonly<Record<string, string>> = rows;
const known = new Map<string, Message>();

function parseField(word: string): MessageField {
  const colon = word.indexOf(':');
  const given = word.slice(colon + 1);
  const always = given.startsWith('+');
  const marked = always ? given.slice(1) : given;
  const inline = marked.startsWith('~');
  const type = inline ? marked.slice(1) : marked;
  const shape = type.startsWith('[]') ? 'list' : type.startsWith('{}') ? 'map' : 'single';
  return { name: word.slice(0, colon), type: shape === 'single' ? type : type.slice(2), shape, inline, always };
}

export function messageFields(message: string): Message | undefined {
  let fields = known.get(message);
  if (fields === undefined && Object.hasOwn(table, message)) {
    const words = (table[message] ?? '').split(' ').filter((word) => word !== '');
    const parsed = new Map<number, MessageField>();
    for (let at = 0; at + 1 < words.length; at += 2) parsed.set(Number(words[at]), parseField(words[at + 1] ?? ''));
    fields = { byNumber: parsed, descending: [...parsed].sort(([a], [b]) => b - a) };
    known.set(message, fields);
  }
  return fields;
}
