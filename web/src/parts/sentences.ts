/** What the server says as a part of a sentence, as a whole one. */
export const asSentence = (part: string) => `${part.charAt(0).toUpperCase()}${part.slice(1)}.`;
