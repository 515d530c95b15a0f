import descriptionData from './generated/descriptions.json' with { type: 'json' };

interface Description {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
}

const descriptions: Readonly<Record<string, Description>> = descriptionData;

/** The models have their texts on one line each; two spaces stand where a paragraph ended. */
const paragraphs = (text: string): string => text.replaceAll(/ {2}(?=\S)/g, '\n\n');

/** What the API documentation says of a model, e.g. `V1Pod`; '' when nothing. */
export const modelDoc = (model: string): string => paragraphs(descriptions[model]?.text ?? '');

/** The same of a field, its two spaces as they stand: most sentences of older types are set apart that way. */
export const fieldLine = (model: string, field: string): string => descriptions[model]?.fields[field] ?? '';

/** What it says of one of its fields. */
export const fieldDoc = (model: string, field: string): string => paragraphs(descriptions[model]?.fields[field] ?? '');
